"""The clients, each in a process of its own (the Java ones share one), and what they write down."""
