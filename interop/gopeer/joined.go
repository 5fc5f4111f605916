package main

import (
	"context"

	"github.com/bullmq-gen/bullmq-gen/runtime/storage"
)

// joined is a storage that can take a job in the call that settles another one,
// as running workers do and what is done by hand does not.
type joined struct{ storage.Storage }

// joint is what the call took, until it is asked for.
type joint struct {
	reply *storage.SettleReply
	token string
}

type jointKey struct{}

// join returns a context in which the next settling call also takes a job. The
// taking call after it is answered with that job.
func join(ctx context.Context) context.Context {
	return context.WithValue(ctx, jointKey{}, &joint{})
}

// Settle implements [storage.Consumer].
func (s joined) Settle(ctx context.Context, queue string, req *storage.SettleRequest) (*storage.SettleReply, error) {
	j, ok := ctx.Value(jointKey{}).(*joint)
	if !ok {
		return s.Storage.Settle(ctx, queue, req)
	}
	if j.reply != nil {
		req.Token = j.token // what the jobs are locked with
		return j.reply, nil
	}
	req.Take = 1
	reply, err := s.Storage.Settle(ctx, queue, req)
	j.reply, j.token = reply, req.Token
	return reply, err
}
