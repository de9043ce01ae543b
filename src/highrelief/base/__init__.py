"""What methods share: the check of what they are given, scaling, ranking, selection; and what wraps them.

``input`` is the only judge of what is given. On it stands ``selector`` (one weight per feature), on this
``weighter``, the contract of a method. ``soft``, ``euclidean``, ``mixed`` and ``extraction`` are for families
of them, ``meta``, ``members`` and ``resampling`` for what is wrapped around any.
"""
