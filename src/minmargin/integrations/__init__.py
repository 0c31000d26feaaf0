"""Ways into other tools: active-learning libraries, and the tools that people label with."""
