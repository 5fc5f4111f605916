package bullmqgen

// NewAnalyzer makes an analyzer with flags of its own.
var NewAnalyzer = newAnalyzer
