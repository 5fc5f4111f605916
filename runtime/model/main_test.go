package model

import (
	"testing"

	"github.com/bullmq-gen/bullmq-gen/internal/testrandom"
)

func TestMain(m *testing.M) { testrandom.Main(m) }
