import sys
import unittest
import pijit as ms
from pijit import ops


def norm(x):
    return ops.sqrt((x * x).sum())


class TestNorm(unittest.TestCase):
    def setUp(self):
        self.x = ms.Tensor([3.0, 4.0])

    def test_value(self):
        for _ in range(20):
            self.assertEqual(float(norm(self.x)), 5.0)

    def test_subtests(self):
        for k in range(10):
            with self.subTest(k=k):
                self.assertAlmostEqual(float(norm(self.x * k)), 5.0 * k)

    def test_fails(self):
        self.assertEqual(norm(self.x).shape, (1,))

    def test_raises(self):
        with self.assertRaisesRegex(TypeError, "unsupported"):
            norm("text")

    @unittest.expectedFailure
    def test_expected(self):
        self.assertLess(float(norm(self.x)), 1)


if __name__ == "__main__":
    result = unittest.TextTestRunner(stream=open("/dev/null",
                                                 "w")).run(unittest.defaultTestLoader.loadTestsFromTestCase(TestNorm))
    print(result, [(t.id(), e.splitlines()[-1]) for t, e in result.failures])
    sys.exit(not result.wasSuccessful())
