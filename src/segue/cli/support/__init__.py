"""What the commands share: settings, output, options, signals, an open kernel."""
