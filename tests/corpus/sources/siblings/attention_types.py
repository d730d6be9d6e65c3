import dataclasses, torch
Scores = torch.Tensor
