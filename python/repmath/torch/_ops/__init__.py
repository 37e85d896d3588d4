"""The operators of the namespace `repmath`, which PyTorch's dispatcher knows: each file registers those of one family."""
