"""Long work in slices: task rows, runner, budget and bookmarks."""
