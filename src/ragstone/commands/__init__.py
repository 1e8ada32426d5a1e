"""The kit of commands: options, output, progress, help in Chinese, and what several commands print."""
