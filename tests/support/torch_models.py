"""Models as torch has them, with random weights of transformers' configurations: for tests of torch.compile, small, and for
measurements, of their usual size.

    model, args = MODELS["bert"](small=True)
"""
import torch
from torch import nn
from torch.nn import functional


class _Block(nn.Module):
    def __init__(self, channels_in, channels, stride):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels))
        self.around = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.around = nn.Sequential(nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        return functional.relu(self.second(self.first(x)) + self.around(x))


class _ResNet(nn.Module):
    def __init__(self, widths, blocks):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, widths[0], 7, 2, 3, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        layers, channels = [], widths[0]
        for i, width in enumerate(widths):
            for j in range(blocks):
                layers.append(_Block(channels, width, 2 if i and not j else 1))
                channels = width
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(channels, 1000)

    def forward(self, x):
        return self.head(functional.adaptive_avg_pool2d(self.layers(self.stem(x)), 1).flatten(1))


class Hidden(nn.Module):
    """A transformers model that gives a tensor."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *args):
        return self.model(*args).last_hidden_state


class GrowingCache(nn.Module):
    """A step of a decoder: tokens, then keys and values of each layer, in; logits, then the longer ones, out."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens, *past):
        from transformers import DynamicCache

        cache = DynamicCache(ddp_cache_data=list(zip(past[::2], past[1::2])))
        made = self.model(input_ids=tokens, past_key_values=cache, use_cache=True)
        return (made.logits, *(one for layer in made.past_key_values.layers for one in (layer.keys, layer.values)))


class StaticCache(nn.Module):
    """A step of a decoder whose cache of a fixed length is written in place."""

    def __init__(self, model, length):
        super().__init__()
        from transformers import StaticCache

        self.model, self.cache = model, StaticCache(config=model.config, max_cache_len=length)

    def forward(self, tokens, position):
        made = self.model(input_ids=tokens, past_key_values=self.cache, use_cache=True, cache_position=position,
                          position_ids=position.unsqueeze(0))
        return made.logits


def mlp(small=False):
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)), (torch.randn(32, 784),)


def resnet18(small=False):
    if small:
        return _ResNet((8, 16), 1), (torch.randn(1, 3, 64, 64),)
    return _ResNet((64, 128, 256, 512), 2), (torch.randn(1, 3, 224, 224),)


def _encoder(small, layers):
    return dict(num_hidden_layers=2, hidden_size=64, intermediate_size=128, num_attention_heads=4) if small else dict(num_hidden_layers=layers)


def bert(small=False, length=128):
    from transformers import BertConfig, BertModel

    return Hidden(BertModel(BertConfig(**_encoder(small, 12)))), (torch.randint(0, 30000, (1, length)),)


def vit(small=False):
    from transformers import ViTConfig, ViTModel

    return Hidden(ViTModel(ViTConfig(**_encoder(small, 12)))), (torch.randn(1, 3, 224, 224),)


def t5(small=False, length=128):
    from transformers import T5Config, T5EncoderModel

    config = T5Config(num_layers=2, d_model=64, d_kv=16, d_ff=128, num_heads=4) if small else T5Config()
    return Hidden(T5EncoderModel(config)), (torch.randint(0, 30000, (1, length)),)


def whisper(small=False):
    from transformers import WhisperConfig
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    size = dict(d_model=64, encoder_layers=1, encoder_attention_heads=2, encoder_ffn_dim=128) if small else dict(
        d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536)
    return Hidden(WhisperEncoder(WhisperConfig(**size))), (torch.randn(1, 80, 3000),)


def conformer(small=False):
    from transformers import Wav2Vec2ConformerConfig, Wav2Vec2ConformerModel

    size = dict(hidden_size=64, num_hidden_layers=1, num_attention_heads=4, intermediate_size=128, conv_dim=(32,) * 7,
                num_conv_pos_embeddings=16) if small else dict(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024)
    return Hidden(Wav2Vec2ConformerModel(Wav2Vec2ConformerConfig(**size))), (torch.randn(1, 16000),)


def decoder(small=False):
    """A Llama, and the lengths of its cache: (heads, length of a head)."""
    from transformers import LlamaConfig, LlamaForCausalLM

    size = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=128)
    if not small:
        size = dict(hidden_size=512, intermediate_size=1376, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=4, vocab_size=8192)
    config = LlamaConfig(**size)
    return LlamaForCausalLM(config), (config.num_key_value_heads, config.hidden_size // config.num_attention_heads)


def llama(small=False, past=128):
    model, (heads, width) = decoder(small)
    cache = [torch.randn(1, heads, past, width) for _ in range(2 * model.config.num_hidden_layers)]
    return GrowingCache(model), (torch.randint(0, 128, (1, 1)), *cache)


def llama_static(small=False, length=512):
    return StaticCache(decoder(small)[0], length), (torch.randint(0, 128, (1, 1)), torch.tensor([100]))


MODELS = {one.__name__: one for one in (mlp, resnet18, bert, vit, t5, whisper, conformer, llama, llama_static)}
