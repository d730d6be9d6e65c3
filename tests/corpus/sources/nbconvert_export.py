#!/usr/bin/env python
# coding: utf-8

# In[1]:

get_ipython().run_line_magic("matplotlib", "inline")
get_ipython().system("pip install einops")
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


# In[2]:


get_ipython().run_cell_magic('time', '', 'def scaled_dot_product_attention(Q, K, V, mask=None):\n    """Attention over the last two dimensions."""\n    d_k = Q.size(-1)\n    scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)\n    if mask is not None:\n        scores = scores.masked_fill(mask == 0, float("-inf"))\n    weights = torch.softmax(scores, dim=-1)\n    return weights @ V, weights\n')
