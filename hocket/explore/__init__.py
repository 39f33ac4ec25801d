"""The explorer: the audit page served live, where a topology is drawn and a plan tried out before anybody agrees to it.

A web application for one person on one machine. Its page is the audit page with more controls; what takes longer than
a click is worked out here, beside the requests, and can be called off.
"""
