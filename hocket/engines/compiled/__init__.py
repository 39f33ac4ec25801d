"""What is compiled: rounds of all agents, their noise, their channel and what is measured. The host's part of a run is
in the folder above."""
