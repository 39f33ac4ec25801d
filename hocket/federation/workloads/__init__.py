"""What a member computes at home: gradients of a task, or its part of a study's sums."""
