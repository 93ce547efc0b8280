"""Stub."""
from polycontext.pressure.extractive.segments import clip
def cut(text, max_tokens, counter, *, wanted="", whole=""):
    return clip(text, max_tokens, counter)
