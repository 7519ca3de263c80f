"""Parts of a system: bodies, frames, joints, forces."""
