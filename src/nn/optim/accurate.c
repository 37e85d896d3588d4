/* The accurate phase of optimiser steps and of gradient clipping, on the host. */
#include "accurate.inl"
#include "clip_accurate.inl"
