"""ResNet-50, with the classes of `resnet`."""

import resnet
from training import run


def build():
    return resnet.build(resnet.resnet50)


def main():
    run(globals(), steps=5)


if __name__ == "__main__":
    main()
