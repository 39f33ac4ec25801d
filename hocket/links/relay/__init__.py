"""Links for members that can open no port: both ends come out to a relay, which joins them and passes bytes.

call.py        what an end says to a relay, and signs
connection.py  one TCP connection, in TLS or not, within bounds
pipe.py        a WebSocket over it
crowd.py       what strangers may cost
outbound.py    from a member to a relay, through a company's proxy if need be
proxy.py       a company's proxy: HTTP CONNECT
server.py      the relay itself
forwarder.py   a process beside a member, between its gRPC and the relays
way.py         its part for a neighbour that the member dials
carrying.py    bytes both ways, and pauses
forwarding.py  how a member starts that process, and what it learns from it
"""
