"""Networks: stacks of small neural networks, trained together and asked for exact class scores."""
