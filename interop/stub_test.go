package interop

var optionFeatures, dedupFeatures, workFeatures, queueFeatures, flowFeatures, faultFeatures []feature
