package interop

import "testing"

// TestC087_Cluster plays all that TestMatrix does on a cluster of three masters:
// Node's side with the cluster client of ioredis, ours with that of go-redis.
func TestC087_Cluster(t *testing.T) {
	t.Parallel()
	f := startFleet(t, clusterPlace(t))
	for _, feature := range features() {
		for _, col := range columns {
			t.Run(feature.name+"/"+col.String(), func(t *testing.T) {
				t.Parallel()
				if c := f.cell(t, col); feature.lacks == nil || feature.lacks(c) == "" {
					feature.play(c)
				}
			})
		}
	}
}
