"""Floor 2. What a user writes: bodies, frames, joints, forces."""
