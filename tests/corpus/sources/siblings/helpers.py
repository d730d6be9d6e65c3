import torch
from attention import scaled_dot_product_attention as unused_circle
NEGATIVE = float('-inf')

def fill(scores, mask):
    return scores.masked_fill(mask == 0, NEGATIVE)

print(input('never asked'))
while True:
    pass
