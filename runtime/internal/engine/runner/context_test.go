package runner

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type someKey struct{}

// A handler's context is made when it is first used. Whenever that is, before
// or after its end, it says the same.
func TestJobContext(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, used := range []string{"before", "after"} {
		t.Run("used "+used+" its end", func(t *testing.T) {
			t.Parallel()
			all, stop := context.WithCancelCause(context.WithValue(context.Background(), someKey{}, "value"))
			c := &jobContext{job: &Job{Typed: "7"}, parent: all}
			var derived context.Context
			derive := func() {
				d, cancel := context.WithTimeout(c, time.Hour)
				t.Cleanup(cancel)
				derived = d
			}
			require.NoError(t, c.Err())
			require.NoError(t, c.cause())
			if used == "before" {
				derive()
				require.NoError(t, derived.Err())
				require.NoError(t, c.Err())
				require.NoError(t, context.Cause(c))
			}
			c.end(boom)
			c.end(errors.New("later"))
			stop(ErrShutdown)
			if used == "after" {
				derive()
			}
			<-c.Done()
			<-derived.Done()
			require.ErrorIs(t, c.Err(), context.Canceled)
			require.ErrorIs(t, derived.Err(), context.Canceled)
			require.Equal(t, boom, c.cause(), "the first cause counts")
			require.Equal(t, boom, context.Cause(c))
			require.Equal(t, boom, context.Cause(derived))
			require.Equal(t, "value", derived.Value(someKey{}))
			require.Equal(t, "7", JobFrom(derived).Typed)
			_, limited := c.Deadline()
			require.False(t, limited)
		})
	}
}

// The end of all handlers' context is that of a job's own.
func TestJobContextEndsWithAll(t *testing.T) {
	t.Parallel()
	for _, used := range []bool{false, true} {
		all, stop := context.WithCancelCause(context.Background())
		c := &jobContext{job: &Job{}, parent: all}
		if used {
			require.NotNil(t, c.Done())
		}
		stop(ErrShutdown)
		require.ErrorIs(t, c.Err(), context.Canceled)
		require.Equal(t, ErrShutdown, c.cause())
		require.Equal(t, ErrShutdown, context.Cause(c))
		c.end(errors.New("later"))
		<-c.Done()
		require.Equal(t, ErrShutdown, context.Cause(c))

		unused := &jobContext{job: &Job{}, parent: all}
		unused.end(errors.New("later"))
		require.Equal(t, ErrShutdown, unused.cause())
	}
}

// A context that ended for no reason says what the standard one says.
func TestJobContextEndsWithoutCause(t *testing.T) {
	t.Parallel()
	c := &jobContext{job: &Job{}, parent: context.Background()}
	c.end(nil)
	require.Equal(t, context.Canceled, c.cause())
	require.Equal(t, context.Canceled, context.Cause(c))
}
