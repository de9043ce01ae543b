"""Base classes of the estimators, and the validation of their input.

``validation`` turns the input of ``fit`` into ``training_data``. ``selector`` is the base of estimators with
one weight per feature, ``weighter`` that of a method; ``soft``, ``euclidean`` and ``extraction`` are bases of
families of methods, and ``categorical`` adds categorical features to any. ``meta`` and ``resampling`` are the
bases of meta-estimators; ``folds``, ``progress`` and ``notebook`` serve them all.
"""
