"""What algorithms are made of: how large noise is, checks of numbers, messages of clipped gradients, compressors."""
