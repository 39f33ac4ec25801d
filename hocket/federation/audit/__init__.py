"""What a plan lets colluders learn, before anybody signs it and after members have left."""
