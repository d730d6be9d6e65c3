import math
import torch

torch.manual_seed(0)
Q = torch.randn(2, 4, 6, 8)
K = torch.randn(2, 4, 6, 8)
V = torch.randn(2, 4, 6, 8)

scores = Q @ K.transpose(-2, -1) / math.sqrt(8)
weights = torch.softmax(scores, dim=-1)
output = weights @ V
print(output.shape)
