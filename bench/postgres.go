package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgres is a PostgreSQL for this run alone, for the peer that needs one. As
// the Redis beside it keeps nothing on disk, it does not wait for disks either.
type postgres struct {
	url     string
	version int // the major one
	dir     string
	cmd     *exec.Cmd
}

// postgresSettings let it answer before anything is on disk, and give it memory
// to hold all that the benchmark stores.
var postgresSettings = []string{
	"fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=256MB", "max_wal_size=4GB", "max_connections=200",
}

// startPostgres makes a database in a directory of its own and starts a server
// on it, as an unprivileged user.
func startPostgres(ctx context.Context) (*postgres, error) {
	initdb, server, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bullmq-bench")
	if err != nil {
		return nil, err
	}
	as, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	create := exec.CommandContext(ctx, initdb, "--pgdata", data, "--username", "bench", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	create.SysProcAttr, create.Dir = as, dir
	if out, err := create.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	for range 5 { // another process can take the port between the look for it and the start
		var p *postgres
		if p, err = tryPostgres(ctx, server, dir, as); err == nil {
			return p, nil
		}
	}
	_ = os.RemoveAll(dir)
	return nil, err
}

// postgresPrograms finds initdb and postgres on PATH, or where Debian has them.
func postgresPrograms() (initdb, server string, err error) {
	places, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", "", err
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		places = append(places, path)
	}
	for _, p := range places {
		server := filepath.Join(filepath.Dir(p), "postgres")
		if _, err := os.Stat(server); err == nil {
			return p, server, nil
		}
	}
	return "", "", errors.New("a PostgreSQL server is needed for River: run make bench, which installs it, or put initdb and postgres on PATH")
}

// unprivileged gives a directory to a user without rights if this process has
// all of them: PostgreSQL does not run as root. Nil: as the user that runs this.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, os.Chown(dir, uid, gid)
}

func tryPostgres(ctx context.Context, server, dir string, as *syscall.SysProcAttr) (*postgres, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	args := []string{"-D", filepath.Join(dir, "data"), "-h", "127.0.0.1", "-p", port, "-k", dir}
	for _, s := range postgresSettings {
		args = append(args, "-c", s)
	}
	log, err := os.Create(filepath.Join(dir, "postgres.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &postgres{url: "postgres://bench@127.0.0.1:" + port + "/postgres?sslmode=disable", dir: dir, cmd: exec.Command(server, args...)}
	p.cmd.SysProcAttr, p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = as, dir, log, log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	if err := p.ready(ctx); err != nil {
		p.end()
		text, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return p, nil
}

// ready polls until this very server answers.
func (p *postgres) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		dir, err := p.dataDirectory(ctx)
		switch {
		case err == nil && dir == filepath.Join(p.dir, "data"):
			return nil
		case err == nil:
			return errors.New("another PostgreSQL has the port")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("postgres does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (p *postgres) dataDirectory(ctx context.Context) (dir string, err error) {
	c, err := pgx.Connect(ctx, p.url)
	if err != nil {
		return "", err
	}
	defer c.Close(ctx)
	err = c.QueryRow(ctx, "select current_setting('data_directory'), current_setting('server_version_num')::int / 10000").Scan(&dir, &p.version)
	return dir, err
}

// end stops the server by its process: SIGINT is PostgreSQL's fast shutdown.
func (p *postgres) end() {
	_ = p.cmd.Process.Signal(syscall.SIGINT)
	_ = p.cmd.Wait() // how it ends does not matter
}

func (p *postgres) stop() {
	p.end()
	_ = os.RemoveAll(p.dir)
}
