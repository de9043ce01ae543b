"""The methods: one paper is one module, and ``fit`` reads like the paper."""
