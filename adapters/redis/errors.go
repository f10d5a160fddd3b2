package redis

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// refusal is an error of the server: its code, and a text of this package. The text of the
// server quotes commands and keys, and so tokens and addresses. [ERR-08]
type refusal struct{ code, text string }

func (e *refusal) Error() string { return e.code + " " + e.text }

// RedisError implements goredis.Error, so that goredis.HasErrorPrefix finds the code.
func (e *refusal) RedisError() {}

// reasons are the texts of errors, by the code with which the server's text begins.
var reasons = map[string]string{
	"ERR":         "the server refused the command",
	"WRONGTYPE":   "a key holds another kind of value: another program uses keys with this prefix",
	"NOPERM":      "the user of the server lacks a right",
	"NOAUTH":      "the client has not signed in to the server",
	"WRONGPASS":   "the server did not accept the user or the password",
	"OOM":         "the memory of the server is full",
	"MISCONF":     "the server accepts no writes, because it can't save its data",
	"READONLY":    "the server is a replica, which accepts no writes",
	"NOREPLICAS":  "too few replicas follow the server (min-replicas-to-write)",
	"LOADING":     "the server loads its data",
	"BUSY":        "the server runs a script that takes long",
	"MASTERDOWN":  "the replica has lost its master",
	"CLUSTERDOWN": "the cluster is not complete",
	"TRYAGAIN":    "the keys are moving to another server",
	"MOVED":       aNode,
	"ASK":         aNode,
	"CROSSSLOT":   "the keys are in several slots, and the server is a node of a cluster: " + clusterClient,
	"NOSCRIPT":    "the server does not have the script",
	"UNKILLABLE":  "a script can't be stopped",
	"NOGOODSLAVE": "there is no replica that can take over",
	"EXECABORT":   "the transaction was aborted",
	"MAXCLIENTS":  "the server has too many clients",
}

const (
	clusterClient = "use goredis.NewClusterClient"
	aNode         = "the server is a node of a cluster, and the keys are on another node: " + clusterClient
)

var (
	codePattern    = regexp.MustCompile(`^(?:ERR )?([A-Z]+)\b`)
	nodePattern    = regexp.MustCompile(`(?i)non local key in a cluster node|do not hash to the same slot`)
	scriptLacks    = regexp.MustCompile(`(?i)^(?:ERR )?(?:ACL failure in script|The user executing the script can't)`)
	unknownCommand = regexp.MustCompile(`(?i)unknown (?:redis )?command|this Redis command is not`)
	// inScript is what Redis before 7 puts before the error of a command in a script.
	inScript   = regexp.MustCompile(`^(?:ERR Error running script \(call to \w+\): )?(?:@user_script: ?\d+: )+-?`)
	quotedWord = regexp.MustCompile("[`'\"]([a-zA-Z|]+)[`'\"]")
)

// withoutValues returns an error without what the server said, except its code and the name
// of a command that the adapter uses.
func withoutValues(err error) error {
	var done *refusal
	var said goredis.Error
	switch {
	case err == nil, errors.As(err, &done), errors.Is(err, goredis.Nil):
		return err
	case errors.As(err, &said):
		return refusalOf(said.Error())
	case strings.Contains(err.Error(), "redis: ") && strings.ContainsAny(err.Error(), `"`+"`"):
		return errors.New("the client could not read a reply of the server") // go-redis quotes it
	}
	return err
}

func refusalOf(text string) error {
	e := &refusal{code: "ERR"}
	text = inScript.ReplaceAllString(text, "")
	if m := codePattern.FindStringSubmatch(text); m != nil && reasons[m[1]] != "" {
		e.code = m[1]
	}
	if scriptLacks.MatchString(text) { // some servers say ERR here
		e.code = "NOPERM"
	}
	e.text = reasons[e.code]
	named := func() string {
		for _, m := range quotedWord.FindAllStringSubmatch(text, 2) {
			if name := strings.ToLower(m[1]); slices.Contains(commands, name) {
				return ": " + name
			}
		}
		return ""
	}
	switch {
	case e.code == "NOPERM" && strings.Contains(text, " key"):
		e.text += ": it may not use the keys of the prefix"
	case e.code == "NOPERM":
		e.text += named()
	case nodePattern.MatchString(text):
		e.text = aNode
	case unknownCommand.MatchString(text):
		e.text = "the server does not know a command, or not within a script" + named() + ": do not rename or disable it"
	}
	return e
}

// commands are those that the adapter sends, or that its scripts call.
var commands = []string{
	"get", "set", "setnx", "mset", "msetnx", "exists", "unlink", "rename", "type", "scan", "pexpireat", "pttl", "time",
	"hset", "hget", "hgetall", "hdel", "hlen", "zadd", "zrem", "zrange", "zscan", "zremrangebyscore",
	"evalsha", "eval", "script", "script|load", "info",
}
