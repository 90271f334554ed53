"""Where MindSpore defines our classes: {our module: {its module: names}}. Written by tools/api_coverage.py."""

HOMES = {'': {'common.tensor': 'Tensor'},
 'amp': {'train.loss_scale_manager': 'DynamicLossScaleManager FixedLossScaleManager LossScaleManager',
         'amp': 'DynamicLossScaler LossScaler StaticLossScaler'},
 'communication._comm_helper': {'communication._comm_helper': 'GlobalComm'},
 'communication._store': {'ops.function.comm_func': 'TCPStore'},
 'communication.comm_func': {'communication.comm_func': 'CommHandle', 'ops.function.comm_func': 'P2POp'},
 'compat.old.cells': {'nn.layer.rnns': '_DynamicLSTMCPUGPU'},
 'compat.old.decorators': {'log': '_LogActionOnce'},
 'compat.old.executors': {'common.api': '_CellGraphExecutor _PyNativeExecutor _no_grad'},
 'compat.old.grad_ops': {'ops.auto_generate.gen_ops_prim': 'ACosGrad AbsGrad AcoshGrad AsinGrad AsinhGrad AtanGrad '
                                                           'AvgPoolGrad BatchNormGrad BiasAddGrad '
                                                           'BinaryCrossEntropyGrad EluGrad FastGeLUGrad '
                                                           'GatherDGradV2 GeLUGrad GluGrad GridSampler2DGrad '
                                                           'HShrinkGrad HSigmoidGrad HSwishGrad LayerNormGrad '
                                                           'LogSoftmaxGrad MaximumGrad MinimumGrad NLLLossGrad '
                                                           'PReLUGrad ReLU6Grad ReciprocalGrad ReluGrad '
                                                           'ResizeBilinearGrad ResizeNearestNeighborGrad RsqrtGrad '
                                                           'SiLUGrad SigmoidGrad SmoothL1LossGrad SoftShrinkGrad '
                                                           'SqrtGrad TanhGrad',
                         'ops.operations._grad_ops': 'Conv2DBackpropFilter DropoutGrad FlattenGrad InvGrad '
                                                     'KLDivLossGrad L2NormalizeGrad LRNGrad MaxPoolGrad '
                                                     'MaxPoolGradWithArgmax MirrorPadGrad ROIAlignGrad '
                                                     'SigmoidCrossEntropyWithLogitsGrad SliceGrad SoftmaxGrad '
                                                     'SoftplusGrad StridedSliceGrad'},
 'compat.old.inner_ops': {'ops.operations._inner_ops': 'Centralization CheckBprop ClipByNorm ConvertToDynamic '
                                                       'DynamicBroadcastTo DynamicStitch Format IsInstance '
                                                       'IsSubClass MatrixDiag MatrixDiagPart MatrixSetDiag '
                                                       'MixedPrecisionCast SameTypeShape SequenceMask'},
 'compat.old.operators': {'ops.auto_generate.gen_ops_prim': 'InplaceAddExt',
                          'ops.operations._sequence_ops': 'ListToTensor TensorToList TensorToScalar',
                          'ops.operations.debug_ops': 'Morph',
                          'ops.operations._inner_ops': 'TopTypeof',
                          'ops.function.grad.grad_func': 'custom_vjp'},
 'compat.old.training': {'parallel.auto_parallel': 'AutoParallel',
                         'mint.optim.fused_adamw': 'FusedAdamW',
                         'nn.wrap.cell_wrapper': '_VirtualDatasetCell'},
 'compat.old.typing': {'common.dtype': 'Bool Float List String Tuple', 'communication.comm_func': 'Type'},
 'compat.old.values': {'communication._comm_helper': 'Backend',
                       'common._register_for_tensor': 'Registry',
                       'common.sparse_tensor': 'RowTensorInner',
                       'common._stub_tensor': 'StubTensor'},
 'context': {'context': 'ParallelMode'},
 'dataset.audio.arguments': {'dataset.audio.transforms': 'AudioTensorOperation'},
 'dataset.audio.effects': {'dataset.audio.transforms': 'Flanger Phaser'},
 'dataset.audio.filters': {'dataset.audio.transforms': 'AllpassBiquad BandBiquad BandpassBiquad BandrejectBiquad '
                                                       'BassBiquad Biquad DeemphBiquad EqualizerBiquad Filtfilt '
                                                       'HighpassBiquad LFilter LowpassBiquad RiaaBiquad '
                                                       'TrebleBiquad'},
 'dataset.audio.level': {'dataset.audio.transforms': 'AmplitudeToDB Contrast DBToAmplitude DCShift Dither Fade Gain '
                                                     'MuLawDecoding MuLawEncoding Overdrive Vol'},
 'dataset.audio.masks': {'dataset.audio.transforms': 'FrequencyMasking MaskAlongAxis MaskAlongAxisIID TimeMasking'},
 'dataset.audio.spectra': {'dataset.audio.transforms': 'Angle ComplexNorm GriffinLim InverseMelScale '
                                                       'InverseSpectrogram LFCC MFCC Magphase MelScale '
                                                       'MelSpectrogram SpectralCentroid Spectrogram'},
 'dataset.audio.time': {'dataset.audio.transforms': 'ComputeDeltas DetectPitchFrequency PhaseVocoder PitchShift '
                                                    'Resample SlidingWindowCmn TimeStretch'},
 'dataset.audio.utils': {'dataset.audio.utils': 'BorderType DensityFunction FadeShape GainType Interpolation MelType '
                                                'Modulation NormMode NormType ResampleMethod ScaleType WindowType'},
 'dataset.callback': {'dataset.callback.ds_callback': 'DSCallback WaitedDSCallback'},
 'dataset.config': {'dataset.core.config': 'ErrorSamplesMode'},
 'dataset.datasets': {'dataset.engine.datasets': 'BatchDataset BatchInfo BucketBatchByLengthDataset ConcatDataset '
                                                 'Dataset FilterDataset MapDataset ProjectDataset RenameDataset '
                                                 'RepeatDataset ShuffleDataset SkipDataset SyncWaitDataset '
                                                 'TakeDataset ZipDataset',
                      'dataset.engine.samplers': 'Shuffle'},
 'dataset.files': {'dataset.engine.datasets_standard_format': 'CSVDataset',
                   'dataset.engine.datasets_text': 'TextFileDataset'},
 'dataset.image_arrays': {'dataset.engine.datasets_vision': 'Cifar100Dataset Cifar10Dataset EMnistDataset '
                                                            'FakeImageDataset FashionMnistDataset KMnistDataset '
                                                            'MnistDataset QMnistDataset STL10Dataset SVHNDataset '
                                                            'SemeionDataset USPSDataset'},
 'dataset.image_folders': {'dataset.engine.datasets_vision': 'Caltech101Dataset Caltech256Dataset CelebADataset '
                                                             'DIV2KDataset FlickrDataset Flowers102Dataset '
                                                             'Food101Dataset ImageFolderDataset LFWDataset '
                                                             'LSUNDataset ManifestDataset OmniglotDataset '
                                                             'PhotoTourDataset Places365Dataset RenderedSST2Dataset '
                                                             'SBUDataset SUN397Dataset'},
 'dataset.image_marks': {'dataset.engine.datasets_vision': 'CityscapesDataset CocoDataset KITTIDataset SBDataset '
                                                           'VOCDataset WIDERFaceDataset'},
 'dataset.mindrecord': {'dataset.engine.datasets_standard_format': 'MindDataset'},
 'dataset.pipeline': {'dataset.engine.iterators': 'DictIterator Iterator TupleIterator'},
 'dataset.samplers': {'dataset.engine.samplers': 'BuiltinSampler DistributedSampler IterSampler PKSampler '
                                                 'RandomSampler Sampler SequentialSampler SubsetRandomSampler '
                                                 'SubsetSampler WeightedRandomSampler'},
 'dataset.schema': {'dataset.engine.datasets': 'Schema'},
 'dataset.sound_sets': {'dataset.engine.datasets_audio': 'CMUArcticDataset GTZANDataset LJSpeechDataset '
                                                         'LibriTTSDataset SpeechCommandsDataset TedliumDataset '
                                                         'YesNoDataset'},
 'dataset.sources': {'dataset.engine.datasets_user_defined': 'GeneratorDataset NumpySlicesDataset PaddedDataset',
                     'dataset.engine.datasets_vision': 'RandomDataset'},
 'dataset.text.transforms': {'dataset.text.transforms': 'AddToken BasicTokenizer BertTokenizer CaseFold '
                                                        'FilterWikipediaXML Lookup Ngram NormalizeUTF8 '
                                                        'PythonTokenizer RegexReplace RegexTokenizer SlidingWindow '
                                                        'ToNumber Truncate TruncateSequencePair UnicodeCharTokenizer '
                                                        'UnicodeScriptTokenizer WhitespaceTokenizer '
                                                        'WordpieceTokenizer'},
 'dataset.text.utils': {'dataset.text.utils': 'NormalizeForm Vocab'},
 'dataset.text.vectors': {'dataset.text.utils': 'CharNGram FastText GloVe Vectors',
                          'dataset.text.transforms': 'ToVectors'},
 'dataset.text_sets': {'dataset.engine.datasets_text': 'AGNewsDataset AmazonReviewDataset CLUEDataset '
                                                       'CoNLL2000Dataset DBpediaDataset EnWik9Dataset IMDBDataset '
                                                       'IWSLT2016Dataset IWSLT2017Dataset Multi30kDataset '
                                                       'PennTreebankDataset SQuADDataset SST2Dataset '
                                                       'SogouNewsDataset UDPOSDataset WikiTextDataset '
                                                       'YahooAnswersDataset YelpReviewDataset'},
 'dataset.tfrecord': {'dataset.engine.datasets_standard_format': 'TFRecordDataset'},
 'dataset.transforms.py_transforms': {'dataset.transforms.py_transforms': 'OneHotOp'},
 'dataset.transforms.transforms': {'dataset.transforms.transforms': 'Compose Concatenate Duplicate Fill Mask OneHot '
                                                                    'PadEnd RandomApply RandomChoice RandomOrder '
                                                                    'Relational Slice TensorOperation TypeCast '
                                                                    'Unique'},
 'dataset.vision.boxes': {'dataset.vision.transforms': 'BoundingBoxAugment RandomCropWithBBox '
                                                       'RandomHorizontalFlipWithBBox RandomResizeWithBBox '
                                                       'RandomResizedCropWithBBox RandomVerticalFlipWithBBox '
                                                       'ResizeWithBBox'},
 'dataset.vision.colors': {'dataset.vision.transforms': 'AdjustBrightness AdjustContrast AdjustGamma AdjustHue '
                                                        'AdjustSaturation AdjustSharpness AutoContrast Equalize '
                                                        'GaussianBlur Grayscale Invert Posterize '
                                                        'RandomAdjustSharpness RandomAutoContrast RandomColor '
                                                        'RandomColorAdjust RandomEqualize RandomGrayscale '
                                                        'RandomInvert RandomLighting RandomPosterize RandomSharpness '
                                                        'RandomSolarize Solarize'},
 'dataset.vision.geometry': {'dataset.vision.transforms': 'Affine CutOut Erase Perspective RandomAffine RandomCrop '
                                                          'RandomCropDecodeResize RandomErasing RandomPerspective '
                                                          'RandomResize RandomResizedCrop RandomRotation Rotate'},
 'dataset.vision.images': {'dataset.vision.transforms': 'CenterCrop ConvertColor Crop Decode FiveCrop HWC2CHW '
                                                        'HorizontalFlip HsvToRgb LinearTransformation Normalize '
                                                        'NormalizePad Pad PadToSize RandomHorizontalFlip '
                                                        'RandomVerticalFlip Rescale Resize ResizedCrop RgbToHsv '
                                                        'SlicePatches TenCrop ToNumpy ToPIL ToTensor ToType '
                                                        'VerticalFlip',
                           'dataset.vision.c_transforms': 'RgbToBgr'},
 'dataset.vision.policies': {'dataset.vision.transforms': 'AutoAugment CutMixBatch MixUp MixUpBatch RandAugment '
                                                          'RandomSelectSubpolicy TrivialAugmentWide UniformAugment'},
 'dataset.vision.py_transforms': {'dataset.vision.py_transforms': 'Cutout Decode'},
 'dataset.vision.utils': {'dataset.vision.utils': 'AutoAugmentPolicy Border ConvertMode ImageBatchFormat '
                                                  'ImageReadMode Inter SliceMode'},
 'experimental.map_parameter': {'experimental.map_parameter': 'MapParameter'},
 'experimental.optim.lr_scheduler': {'experimental.optim.lr_scheduler': 'ConstantLR CosineAnnealingLR '
                                                                        'CosineAnnealingWarmRestarts CyclicLR '
                                                                        'ExponentialLR LRScheduler LambdaLR LinearLR '
                                                                        'MultiStepLR MultiplicativeLR PolynomialLR '
                                                                        'ReduceLROnPlateau SequentialLR StepLR'},
 'experimental.optim.optimizer': {'experimental.optim.optimizer': 'Optimizer'},
 'experimental.optim.optimizers': {'experimental.optim.asgd': 'ASGD',
                                   'experimental.optim.adadelta': 'Adadelta',
                                   'experimental.optim.adagrad': 'Adagrad',
                                   'experimental.optim.adam': 'Adam',
                                   'experimental.optim.adamw': 'AdamW',
                                   'experimental.optim.adamax': 'Adamax',
                                   'experimental.optim.nadam': 'NAdam',
                                   'experimental.optim.radam': 'RAdam',
                                   'experimental.optim.rmsprop': 'RMSprop',
                                   'experimental.optim.rprop': 'Rprop',
                                   'experimental.optim.sgd': 'SGD'},
 'grad': {'ops.composite.base': 'GradOperation'},
 'initializer': {'common.initializer': 'Constant Dirac HeNormal HeUniform Identity Initializer Normal One Orthogonal '
                                       'Sparse TruncatedNormal Uniform VarianceScaling XavierNormal XavierUniform '
                                       'Zero'},
 'jit': {'common.jit_config': 'JitConfig'},
 'kinds': {'': 'Int TensorType', 'common.dtype': 'QuantDtype'},
 'mindrecord.common.exceptions': {'mindrecord.common.exceptions': 'DbConnectionError MRMAddIndexError '
                                                                  'MRMAddSchemaError MRMBuildSchemaError '
                                                                  'MRMCloseError MRMCommitError MRMDefineBlobError '
                                                                  'MRMDefineCategoryError MRMDefineIndexError '
                                                                  'MRMFetchCandidateFieldsError MRMFetchDataError '
                                                                  'MRMFinishError MRMGenerateIndexError '
                                                                  'MRMGetMetaError MRMIndexGeneratorError '
                                                                  'MRMInitSegmentError MRMInvalidHeaderSizeError '
                                                                  'MRMInvalidPageSizeError MRMInvalidSchemaError '
                                                                  'MRMLaunchError MRMOpenError MRMOpenForAppendError '
                                                                  'MRMReadCategoryInfoError MRMSetHeaderError '
                                                                  'MRMUnsupportedSchemaError MRMValidateDataError '
                                                                  'MRMWriteDatasetError MindRecordException '
                                                                  'ParamMissError ParamTypeError ParamValueError '
                                                                  'PathNotExistsError UnknownError'},
 'mindrecord.filereader': {'mindrecord.filereader': 'FileReader'},
 'mindrecord.filewriter': {'mindrecord.filewriter': 'FileWriter'},
 'mindrecord.mindpage': {'mindrecord.mindpage': 'MindPage'},
 'mindrecord.tools': {'mindrecord.tools.cifar100_to_mr': 'Cifar100ToMR',
                      'mindrecord.tools.cifar10_to_mr': 'Cifar10ToMR',
                      'mindrecord.tools.csv_to_mr': 'CsvToMR',
                      'mindrecord.tools.imagenet_to_mr': 'ImageNetToMR',
                      'mindrecord.tools.mnist_to_mr': 'MnistToMR',
                      'mindrecord.tools.tfrecord_to_mr': 'TFRecordToMR'},
 'mint.nn': {'nn.layer.pooling': 'AdaptiveMaxPool2d',
             'mint.nn': 'AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss CosineEmbeddingLoss '
                        'CrossEntropyLoss Dropout Dropout2d Embedding GELU Hardshrink Hardsigmoid Hardswish Hardtanh '
                        'KLDivLoss LayerNorm LogSoftmax MaxPool2d NLLLoss PReLU ReLU6 SELU SmoothL1Loss Softmax '
                        'Softshrink Unfold Upsample UpsamplingBilinear2d UpsamplingNearest2d',
             'mint.nn.layer.normalization': 'BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm SyncBatchNorm _BatchNorm',
             'mint.nn.layer.conv': 'Conv1d Conv2d Conv3d ConvTranspose2d _Conv',
             'mint.nn.layer.activation': 'ELU SiLU Threshold',
             'mint.nn.layer.basic': 'Flatten',
             'nn.layer.basic': 'Fold Linear',
             'mint.nn.layer.pooling': 'MaxUnpool2d',
             'mint.nn.layer.padding': 'ZeroPad1d ZeroPad3d'},
 'nn.cell': {'nn.cell': 'Cell GraphCell'},
 'nn.container': {'nn.layer.container': 'CellDict CellList SequentialCell'},
 'nn.ext': {'nn.layer.pooling': 'AvgPool1dExt AvgPool2dExt AvgPool3dExt MaxPool2dExt',
            'nn.layer.basic': 'Dropout2dExt DropoutExt',
            'nn.layer.embedding': 'EmbeddingExt',
            'nn.loss.loss': 'L1LossExt',
            'nn.layer.normalization': 'LayerNormExt',
            'nn.layer.activation': 'LogSoftmaxExt PReLUExt'},
 'nn.layer.activation': {'nn.layer.activation': 'CELU ELU FastGelu GELU GLU HShrink HSigmoid HSwish Hardtanh '
                                                'LeakyReLU LogSigmoid LogSoftmax Mish PReLU RReLU ReLU ReLU6 SeLU '
                                                'SiLU Sigmoid SoftShrink Softmax Softmax2d Softmin Softsign Tanh '
                                                'Tanhshrink Threshold'},
 'nn.layer.basic': {'nn.layer.dense': 'BiDense',
                    'nn.layer.basic': 'ClipByNorm Dense Dropout Dropout1d Dropout2d Dropout3d Flatten Identity '
                                      'L1Regularizer Linear Norm OneHot Roll Tril Triu Unflatten',
                    'nn.layer.math': 'DiGamma LGamma MatDet MatInverse MatMul Moments Range ReduceLogSumExp',
                    'nn.layer.embedding': 'Embedding EmbeddingLookup',
                    'nn.layer.timedistributed': 'TimeDistributed'},
 'nn.layer.combined': {'nn.layer.combined': 'Conv2dBnAct DenseBnAct'},
 'nn.layer.conv': {'nn.layer.conv': 'Conv1d Conv1dTranspose Conv2d Conv2dTranspose Conv3d Conv3dTranspose'},
 'nn.layer.functions': {'nn.layer.pooling': 'FractionalMaxPool2d FractionalMaxPool3d',
                        'nn.layer.math': 'IGamma LBeta',
                        'nn.layer.image': 'MSSSIM SSIM',
                        'nn.layer.basic': 'MatrixDiag MatrixDiagPart MatrixSetDiag',
                        'nn.layer.embedding': 'MultiFieldEmbeddingLookup',
                        'nn.loss.loss': 'SampledSoftmaxLoss'},
 'nn.layer.image': {'nn.layer.image': 'CentralCrop ImageGradients PSNR PixelShuffle PixelUnshuffle',
                    'nn.layer.channel_shuffle': 'ChannelShuffle',
                    'nn.layer.padding': 'ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d '
                                        'ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d '
                                        'ZeroPad2d',
                    'nn.layer.basic': 'Pad Unfold Upsample'},
 'nn.layer.normalization': {'nn.layer.normalization': 'BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm InstanceNorm1d '
                                                      'InstanceNorm2d InstanceNorm3d LayerNorm SyncBatchNorm '
                                                      '_BatchNorm _InstanceNorm',
                            'nn.layer.activation': 'LRN'},
 'nn.layer.pooling': {'nn.layer.pooling': 'AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d '
                                          'AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d '
                                          'LPPool1d LPPool2d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d '
                                          'MaxUnpool3d'},
 'nn.layer.rnn': {'nn.layer.rnns': 'GRU LSTM RNN _RNNBase',
                  'nn.layer.rnn_cells': 'GRUCell LSTMCell RNNCell RNNCellBase'},
 'nn.layer.sparse': {'nn.sparse.sparse': 'SparseTensorDenseMatmul SparseToDense'},
 'nn.layer.transformer': {'nn.layer.transformer': 'MultiheadAttention Transformer TransformerDecoder '
                                                  'TransformerDecoderLayer TransformerEncoder '
                                                  'TransformerEncoderLayer'},
 'nn.loss': {'nn.loss.loss': 'BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss DiceLoss '
                             'FocalLoss GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss LossBase '
                             'MAELoss MSELoss MarginRankingLoss MultiClassDiceLoss MultiLabelSoftMarginLoss '
                             'MultiMarginLoss MultilabelMarginLoss NLLLoss PoissonNLLLoss RMSELoss SmoothL1Loss '
                             'SoftMarginLoss SoftmaxCrossEntropyWithLogits TripletMarginLoss '
                             'TripletMarginWithDistanceLoss'},
 'nn.optim': {'nn.optim.asgd': 'ASGD',
              'nn.optim.adafactor': 'AdaFactor',
              'nn.optim.adamax': 'AdaMax',
              'nn.optim.adadelta': 'Adadelta',
              'nn.optim.ada_grad': 'Adagrad',
              'nn.optim.adam': 'Adam AdamOffload AdamWeightDecay',
              'nn.optim.ftrl': 'FTRL',
              'nn.optim.lars': 'LARS',
              'nn.optim.lamb': 'Lamb',
              'nn.optim.lazyadam': 'LazyAdam',
              'nn.optim.momentum': 'Momentum',
              'nn.optim.proximal_ada_grad': 'ProximalAdagrad',
              'nn.optim.rmsprop': 'RMSProp',
              'nn.optim.rprop': 'Rprop',
              'nn.optim.sgd': 'SGD'},
 'nn.optimizer': {'nn.optim.optimizer': 'Optimizer'},
 'nn.probability.bijector': {'nn.probability.bijector.bijector': 'Bijector',
                             'nn.probability.bijector.exp': 'Exp',
                             'nn.probability.bijector.gumbel_cdf': 'GumbelCDF',
                             'nn.probability.bijector.invert': 'Invert',
                             'nn.probability.bijector.power_transform': 'PowerTransform',
                             'nn.probability.bijector.scalar_affine': 'ScalarAffine',
                             'nn.probability.bijector.softplus': 'Softplus'},
 'nn.probability.distribution': {'nn.probability.distribution.bernoulli': 'Bernoulli',
                                 'nn.probability.distribution.beta': 'Beta',
                                 'nn.probability.distribution.categorical': 'Categorical',
                                 'nn.probability.distribution.cauchy': 'Cauchy',
                                 'nn.probability.distribution.distribution': 'Distribution',
                                 'nn.probability.distribution.exponential': 'Exponential',
                                 'nn.probability.distribution.gamma': 'Gamma',
                                 'nn.probability.distribution.geometric': 'Geometric',
                                 'nn.probability.distribution.gumbel': 'Gumbel',
                                 'nn.probability.distribution.half_normal': 'HalfNormal',
                                 'nn.probability.distribution.laplace': 'Laplace',
                                 'nn.probability.distribution.log_normal': 'LogNormal',
                                 'nn.probability.distribution.logistic': 'Logistic',
                                 'nn.probability.distribution.normal': 'Normal',
                                 'nn.probability.distribution.poisson': 'Poisson',
                                 'nn.probability.distribution.student_t': 'StudentT',
                                 'nn.probability.distribution.transformed_distribution': 'TransformedDistribution',
                                 'nn.probability.distribution.uniform': 'Uniform'},
 'nn.schedule': {'nn.learning_rate_schedule': 'CosineDecayLR ExponentialDecayLR InverseDecayLR LearningRateSchedule '
                                              'NaturalExpDecayLR PolynomialDecayLR WarmUpLR'},
 'nn.wrap.cell_wrapper': {'nn.wrap.cell_wrapper': 'ForwardValueAndGrad GradAccumulationCell MicroBatchInterleaved '
                                                  'ParameterUpdate PipelineCell TrainOneStepCell WithEvalCell '
                                                  'WithGradCell WithLossCell',
                          'nn.grad.cell_grad': 'Jvp Vjp'},
 'nn.wrap.grad_reducer': {'nn.wrap.grad_reducer': 'DistributedGradReducer PipelineGradReducer'},
 'nn.wrap.loss_scale': {'nn.wrap.loss_scale': 'DynamicLossScaleUpdateCell FixedLossScaleUpdateCell '
                                              'TrainOneStepWithLossScaleCell'},
 'ops.array_primitives': {'ops.operations.array_ops': 'BatchToSpace BatchToSpaceNDV2 ConjugateTranspose DepthToSpace '
                                                      'DiagPart EditDistance Expand FillDiagonal FillV2 Fills '
                                                      'IdentityN IndexFill IndexPut InvertPermutation ListDiff '
                                                      'LogSpace LowerBound MatrixBandPart MatrixDiagPartV3 '
                                                      'MatrixDiagV3 MatrixSetDiagV3 Padding ParallelConcat '
                                                      'ReverseSequence ScatterAddWithAxis SegmentMax SegmentMean '
                                                      'SegmentMin SegmentProd SegmentSum Sort SpaceToBatch '
                                                      'SpaceToBatchND SpaceToDepth SplitV TensorScatterElements TopK '
                                                      'Tril TupleToArray UniqueWithPad UnravelIndex Unstack '
                                                      'UpperBound',
                          'ops.deprecated': 'BatchToSpaceND Pack ScalarToArray Unpack',
                          'ops.operations._inner_ops': 'CopyWithSlice',
                          'ops.auto_generate.gen_ops_prim': 'Diag Eye LinSpace MaskedScatter MaskedSelect Meshgrid '
                                                            'NonZero ReverseV2 Roll SearchSorted Triu '
                                                            'UniqueConsecutive',
                          'ops.operations.math_ops': 'IndexAdd InplaceUpdateV2 RaggedRange TrilIndices TriuIndices',
                          'ops.operations.nn_ops': 'MirrorPad NthElement PadV3',
                          'ops.operations.other_ops': 'Reusing',
                          'ops.operations.manually_defined._inner': 'ScalarCast',
                          'ops.operations.manually_defined.ops_def': 'ScalarToTensor',
                          'ops.operations._sequence_ops': 'TensorToTuple'},
 'ops.communication': {'ops.operations.comm_ops': 'AllGather AllGatherV AllReduce AlltoAll AlltoAllV AlltoAllVC '
                                                  'Barrier BatchISendIRecv Broadcast CollectiveGather '
                                                  'CollectiveScatter NeighborExchange NeighborExchangeV2 Receive '
                                                  'Reduce ReduceOp ReduceScatter ReduceScatterV Send'},
 'ops.composite': {'ops.operations.manually_defined.ops_def': 'ForiLoop Scan WhileLoop',
                   'ops.operations.debug_ops': 'HookBackward',
                   'ops.composite.base': 'HyperMap Map MultitypeFuncGraph',
                   'ops.operations.other_ops': 'Partial'},
 'ops.custom': {'ops.op_info_register': 'AiCPURegOp AkgAscendRegOp AkgCpuRegOp AkgGpuRegOp CpuRegOp CustomRegOp '
                                        'DataType TBERegOp',
                'ops.operations.custom_ops': 'Custom'},
 'ops.debug_primitives': {'ops.operations.debug_ops': 'Assert DumpGradient InsertGradientOf TensorDump',
                          'ops.operations.array_ops': 'CheckNumerics',
                          'ops._utils.arg_dtype_cast': 'DtypeToEnum',
                          'ops.operations.math_ops': 'FloatStatus',
                          'ops.operations.other_ops': 'MoveTo PyFunc'},
 'ops.grad_base': {'ops._grad_experimental.grad_base': 'BpropRegistry'},
 'ops.image_primitives': {'ops.operations.image_ops': 'AdjustHue AdjustSaturation CombinedNonMaxSuppression '
                                                      'CropAndResize ExtractGlimpse HSVToRGB NonMaxSuppressionV3 '
                                                      'NonMaxSuppressionWithOverlaps RGBToHSV ResizeArea '
                                                      'ScaleAndTranslate',
                          'ops.operations.array_ops': 'AffineGrid Col2Im ExtractVolumePatches Im2Col',
                          'ops.operations.other_ops': 'BoundingBoxDecode BoundingBoxEncode CheckValid IOU '
                                                      'SampleDistortedBoundingBoxV2',
                          'ops.auto_generate.gen_ops_prim': 'ExtractImagePatches GridSampler2D GridSampler3D '
                                                            'ResizeBicubic ResizeBilinearV2 ResizeLinear1D '
                                                            'ResizeNearestNeighbor ResizeNearestNeighborV2 '
                                                            'UpsampleNearest3D UpsampleTrilinear3D',
                          'ops.operations.math_ops': 'NMSWithMask',
                          'ops.operations.nn_ops': 'ROIAlign'},
 'ops.linalg_primitives': {'ops.auto_generate.gen_ops_prim': 'Cholesky CholeskyInverse Eig Geqrf '
                                                             'LogMatrixDeterminant MatrixExp Qr Svd',
                           'ops.operations.math_ops': 'CholeskySolve LuSolve LuUnpack MatrixInverse MatrixLogarithm '
                                                      'MatrixPower MatrixSolve MatrixSolveLs MatrixTriangularSolve '
                                                      'Orgqr Ormqr TridiagonalMatMul',
                           'ops.operations.array_ops': 'Lstsq',
                           'ops.operations.nn_ops': 'NuclearNorm'},
 'ops.math_primitives': {'ops.auto_generate.gen_ops_prim': 'Addcdiv Addcmul ArgMinWithValue Betainc Cdist Cross '
                                                           'Cummax Cummin IsClose LerpScalar Logit NextAfter '
                                                           'ReduceStd',
                         'ops.operations.math_ops': 'ApproximateEqual BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 '
                                                    'BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 '
                                                    'Bucketize CompareAndBitpack CumulativeLogsumexp Einsum Eps '
                                                    'EqualCount EuclideanNorm Histogram HistogramFixedWidth Igamma '
                                                    'Igammac LpNorm Median Polygamma Quantile Renorm SquareSumAll '
                                                    'Zeta',
                         'ops.operations.array_ops': 'Bincount CountNonZero Mvlgamma',
                         'ops.operations.other_ops': 'ConfusionMatrix',
                         'ops.operations._embedding_cache_ops': 'MapUniform',
                         'ops.operations.nn_ops': 'Pdist'},
 'ops.nn_primitives': {'ops.auto_generate.gen_ops_prim': 'BCEWithLogitsLoss BinaryCrossEntropy CeLU GLU HShrink '
                                                         'LogSoftmaxExt NLLLoss RmsNorm SmoothL1Loss SoftMarginLoss '
                                                         'SoftShrink',
                       'ops.operations.nn_ops': 'CTCGreedyDecoder CTCLoss CTCLossV2 ChannelShuffle '
                                                'ComputeAccidentalHits Conv2DBackpropInput Conv2DTranspose Conv3D '
                                                'Conv3DTranspose DataFormatDimMap DataFormatVecPermute '
                                                'DeformableOffsets DepthwiseConv2dNative Dilation2D Dropout2D '
                                                'Dropout3D InTopK KLDivLoss L2Normalize LRN LSTM MultiMarginLoss '
                                                'MultilabelMarginLoss SparseSoftmaxCrossEntropyWithLogits '
                                                'TripletMarginLoss',
                       'ops.operations.inner_ops': 'NoRepeatNGram'},
 'ops.optimizer_primitives': {'ops.operations.nn_ops': 'Adam AdamNoUpdateParam ApplyAdaMax ApplyAdadelta '
                                                       'ApplyAdagrad ApplyAdagradDA ApplyAdagradV2 '
                                                       'ApplyAdamWithAmsgrad ApplyAdamWithAmsgradV2 ApplyAddSign '
                                                       'ApplyCenteredRMSProp ApplyFtrl ApplyGradientDescent '
                                                       'ApplyKerasMomentum ApplyMomentum ApplyPowerSign '
                                                       'ApplyProximalAdagrad ApplyProximalGradientDescent '
                                                       'ApplyRMSProp SGD',
                              'ops.auto_generate.gen_ops_prim': 'AdamWeightDecay',
                              'ops.operations.inner_ops': 'FusedCastAdamWeightDecay FusedWeightScaleApplyMomentum'},
 'ops.pooling_primitives': {'ops.operations.nn_ops': 'AdaptiveAvgPool2D AdaptiveAvgPool3D AdaptiveMaxPool3D '
                                                     'AvgPool3D FractionalAvgPool FractionalMaxPool '
                                                     'FractionalMaxPool3DWithFixedKsize '
                                                     'FractionalMaxPoolWithFixedKsize MaxPool3D MaxPool3DWithArgmax '
                                                     'MaxPoolWithArgmaxV2 MaxUnpool2D MaxUnpool3D',
                            'ops.auto_generate.gen_ops_prim': 'AdaptiveMaxPool2D'},
 'ops.primitive': {'ops.primitive': 'Primitive PrimitiveWithCheck PrimitiveWithInfer'},
 'ops.primitives': {'ops.auto_generate.gen_ops_prim': 'ACos Abs Acosh Add Angle ArgMaxWithValue Argmax Argmin Asin '
                                                      'Asinh Assign AssignAdd AssignSub Atan Atan2 Atanh AvgPool '
                                                      'BatchMatMul BiasAdd BroadcastTo Ceil Complex Concat Conj Cos '
                                                      'Cosh CumProd CumSum Dense Div Dropout Elu Equal Erf Erfc '
                                                      'Erfinv Exp ExpandDims Expm1 FastGeLU Flatten Floor FloorDiv '
                                                      'FloorMod Gather GatherD GatherNd Gcd GeLU Greater '
                                                      'GreaterEqual HSigmoid HSwish Identity IsFinite IsInf '
                                                      'LayerNorm Lerp Less LessEqual Log Log1p LogSoftmax LogicalAnd '
                                                      'LogicalNot LogicalOr LogicalXor MaskedFill MatMul '
                                                      'MatrixDeterminant Maximum Minimum Mul NanToNum Neg NotEqual '
                                                      'OneHot OnesLike PReLU Polar Pow Range ReLU ReLU6 Real RealDiv '
                                                      'Reciprocal ReduceAll ReduceAny ReduceMax ReduceMean ReduceMin '
                                                      'ReduceProd ReduceSum Reshape RightShift Round Rsqrt ScatterNd '
                                                      'Select Sigmoid Sign Sin Sinc Sinh Slice Softmax Split Sqrt '
                                                      'Square Squeeze StridedSlice Tanh TensorShape Trace Transpose '
                                                      'Trunc UnsortedSegmentSum Xlogy ZerosLike',
                    'ops.operations.math_ops': 'AccumulateNV2 AddN BesselI0 BitwiseAnd BitwiseOr BitwiseXor '
                                               'ComplexAbs Digamma DivNoNan Fmax Fmin Ger Heaviside Hypot Imag '
                                               'InplaceAdd InplaceIndexAdd InplaceSub Inv Invert IsNan Lcm Lgamma '
                                               'Mod MulNoNan SquaredDifference Sub Tan TruncateDiv TruncateMod Xdivy '
                                               '_Reduce',
                    'ops.operations.manually_defined.ops_def': 'BatchNorm Cast Ones Rank Shape Tile Zeros',
                    'ops.operations.nn_ops': 'Conv2D L2Loss MaxPool Mish Pad SeLU SigmoidCrossEntropyWithLogits '
                                             'SoftmaxCrossEntropyWithLogits Softplus Softsign',
                    'ops.operations.array_ops': 'DType EmbeddingLookup Fill LeftShift PopulationCount Rint '
                                                'ScatterAdd ScatterDiv ScatterMax ScatterMin ScatterMul ScatterNdAdd '
                                                'ScatterNdDiv ScatterNdMax ScatterNdMin ScatterNdMul ScatterNdSub '
                                                'ScatterNdUpdate ScatterSub ScatterUpdate Size SparseGatherV2 Stack '
                                                'TensorScatterAdd TensorScatterDiv TensorScatterMax TensorScatterMin '
                                                'TensorScatterMul TensorScatterSub TensorScatterUpdate Unique '
                                                'UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd',
                    'ops.operations.other_ops': 'Depend StopGradient',
                    'ops.deprecated': 'DynamicShape FastGelu InplaceUpdate MaxPoolWithArgmax ScatterNonAliasingAdd '
                                      'TensorAdd',
                    'ops.operations.debug_ops': 'Print'},
 'ops.random_primitives': {'ops.operations.math_ops': 'Bernoulli Cauchy',
                           'ops.deprecated': 'DropoutDoMask DropoutGenMask',
                           'ops.operations.random_ops': 'Gamma LogNormalReverse LogUniformCandidateSampler '
                                                        'Multinomial MultinomialWithReplacement NonDeterministicInts '
                                                        'ParameterizedTruncatedNormal Poisson RandomCategorical '
                                                        'RandomChoiceWithMask RandomGamma RandomPoisson '
                                                        'RandomShuffle StandardLaplace StandardNormal '
                                                        'TruncatedNormal UniformCandidateSampler UniformInt '
                                                        'UniformReal',
                           'ops.operations.inner_ops': 'Randperm',
                           'ops.auto_generate.gen_ops_prim': 'RandpermV2'},
 'ops.recurrent_primitives': {'ops.operations.nn_ops': 'DynamicGRUV2 DynamicRNN'},
 'ops.sparse_optimizer_primitives': {'ops.operations.nn_ops': 'FusedSparseAdam FusedSparseFtrl FusedSparseLazyAdam '
                                                              'FusedSparseProximalAdagrad SparseApplyAdadelta '
                                                              'SparseApplyAdagrad SparseApplyAdagradV2 '
                                                              'SparseApplyFtrl SparseApplyFtrlV2 '
                                                              'SparseApplyProximalAdagrad SparseApplyRMSProp'},
 'ops.sparse_primitives': {'ops.operations.array_ops': 'Coalesce',
                           'ops.operations.sparse_ops': 'SparseSlice SparseTensorDenseAdd SparseTensorDenseMatmul '
                                                        'SparseToDense'},
 'ops.spectral_primitives': {'ops.operations.spectral_ops': 'BartlettWindow BlackmanWindow',
                             'ops.auto_generate.gen_ops_prim': 'FFTWithSize',
                             'ops.operations.array_ops': 'HammingWindow',
                             'ops.operations.math_ops': 'STFT'},
 'ops.summary': {'ops.operations.debug_ops': 'HistogramSummary ImageSummary ScalarSummary TensorSummary'},
 'parallel.shard': {'parallel.shard': 'Layout'},
 'parameter': {'common.parameter': 'Parameter ParameterTuple'},
 'profiler': {'profiler': 'AicoreMetrics ExportType HostSystem ProfilerActivity ProfilerLevel _ExperimentalConfig '
                          'mstx profile schedule',
              '': 'Profiler'},
 'random': {'common.generator': 'Generator'},
 'runtime': {'runtime.event': 'Event', 'runtime.stream': 'Stream StreamCtx'},
 'scipy.optimize': {'scipy.optimize.minimize': 'OptimizeResults'},
 'serialization': {'train.serialization': 'ParamDictFuture'},
 'sparse_tensor': {'common.sparse_tensor': 'COOTensor CSRTensor RowTensor SparseTensor'},
 'symbol': {'common.symbol': 'Symbol'},
 'train.callback._backup_and_restore': {'train.callback._backup_and_restore': 'BackupAndRestore'},
 'train.callback._callback': {'train.callback._callback': 'Callback CallbackManager InternalCallbackParam '
                                                          'RunContext'},
 'train.callback._checkpoint': {'train.callback._checkpoint': 'CheckpointConfig CheckpointManager ModelCheckpoint'},
 'train.callback._early_stop': {'train.callback._early_stop': 'EarlyStopping'},
 'train.callback._history': {'train.callback._history': 'History'},
 'train.callback._lambda_callback': {'train.callback._lambda_callback': 'LambdaCallback'},
 'train.callback._loss_monitor': {'train.callback._loss_monitor': 'LossMonitor'},
 'train.callback._lr_scheduler_callback': {'train.callback._lr_scheduler_callback': 'LearningRateScheduler'},
 'train.callback._on_request_exit': {'train.callback._on_request_exit': 'OnRequestExit'},
 'train.callback._reduce_lr_on_plateau': {'train.callback._reduce_lr_on_plateau': 'ReduceLROnPlateau'},
 'train.callback._summary_collector': {'train.callback._summary_collector': 'SummaryCollector'},
 'train.callback._time_monitor': {'train.callback._time_monitor': 'TimeMonitor'},
 'train.dataset_helper': {'train.dataset_helper': 'DatasetHelper'},
 'train.metrics.accuracy': {'train.metrics.accuracy': 'Accuracy'},
 'train.metrics.bleu_score': {'train.metrics.bleu_score': 'BleuScore'},
 'train.metrics.confusion_matrix': {'train.metrics.confusion_matrix': 'ConfusionMatrix ConfusionMatrixMetric'},
 'train.metrics.cosine_similarity': {'train.metrics.cosine_similarity': 'CosineSimilarity'},
 'train.metrics.dice': {'train.metrics.dice': 'Dice'},
 'train.metrics.error': {'train.metrics.error': 'MAE MSE'},
 'train.metrics.fbeta': {'train.metrics.fbeta': 'F1 Fbeta'},
 'train.metrics.hausdorff_distance': {'train.metrics.hausdorff_distance': 'HausdorffDistance'},
 'train.metrics.loss': {'train.metrics.loss': 'Loss'},
 'train.metrics.mean_surface_distance': {'train.metrics.mean_surface_distance': 'MeanSurfaceDistance'},
 'train.metrics.metric': {'train.metrics.metric': 'EvaluationBase Metric'},
 'train.metrics.occlusion_sensitivity': {'train.metrics.occlusion_sensitivity': 'OcclusionSensitivity'},
 'train.metrics.perplexity': {'train.metrics.perplexity': 'Perplexity'},
 'train.metrics.precision': {'train.metrics.precision': 'Precision'},
 'train.metrics.recall': {'train.metrics.recall': 'Recall'},
 'train.metrics.roc': {'train.metrics.roc': 'ROC'},
 'train.metrics.root_mean_square_surface_distance': {
     'train.metrics.root_mean_square_surface_distance': 'RootMeanSquareDistance'},
 'train.metrics.topk': {'train.metrics.topk': 'Top1CategoricalAccuracy Top5CategoricalAccuracy '
                                              'TopKCategoricalAccuracy'},
 'train.model': {'train.model': 'Model'},
 'train.summary': {'train.summary.summary_record': 'SummaryRecord'}}
