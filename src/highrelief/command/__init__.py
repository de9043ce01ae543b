"""The command behind its door, ``highrelief.cli``: what is offered, what is asked for, and what is done."""
