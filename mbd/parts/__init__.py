"""What a user writes: bodies, frames, joints, forces."""
