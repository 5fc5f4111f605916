//go:build !unix

package testredis

import "errors"

// process is not there: private servers are a matter of Unix systems, others
// use the in-process one.
type process struct{}

var errNoProcess = errors.New("testredis: private servers need a Unix system")

func binary() (string, bool) { return "", false }

func launch(string, *config) (*process, error) { return nil, errNoProcess }
func launchShared(*config) (*process, error)   { return nil, errNoProcess }

func (p *process) addr() string   { return "" }
func (p *process) pid() int       { return 0 }
func (p *process) run() error     { return errNoProcess }
func (p *process) stop()          {}
func (p *process) shutdown()      {}
func (p *process) pause() error   { return errNoProcess }
func (p *process) proceed() error { return errNoProcess }
