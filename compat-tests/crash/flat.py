"""Whether a measurement that was taken at regular times stays where it is."""

import statistics


def slope(samples):
    """Growth for one sample, by least squares."""
    count = len(samples)
    mean_at, mean = (count - 1) / 2, statistics.fmean(samples)
    above = sum((at - mean_at) * (sample - mean) for at, sample in enumerate(samples))
    return above / sum((at - mean_at) ** 2 for at in range(count))


def grows(samples, share, least):
    """How much a straight line through the samples rises from the first to the last, when that is more than `share` of
    their mean and more than `least`; else `None`. The first third is warming up and does not count."""
    settled = samples[len(samples) // 3:]
    if len(settled) < 10:
        raise ValueError(f"{len(samples)} samples are too few")
    rise = slope(settled) * (len(settled) - 1)
    return rise if rise > max(share * statistics.fmean(settled), least) else None
