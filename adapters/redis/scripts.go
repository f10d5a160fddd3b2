package redis

import (
	"context"
	"embed"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

func script(name string) *goredis.Script {
	source, err := scriptFiles.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic("redis: " + err.Error())
	}
	return goredis.NewScript(string(source))
}

// receiptFor is how long the receipt of a write is kept: longer than a client
// goes on repeating a command.
const receiptFor = time.Minute

// once runs a script that makes a write at most once, however often it is
// repeated with the nonce.
func (a *Adapter) once(ctx context.Context, s *goredis.Script, key, nonce string, args ...any) *goredis.Cmd {
	return s.Run(ctx, a.client, []string{key, a.keys.receipt(key, nonce)}, append([]any{receiptFor.Milliseconds()}, args...)...)
}

// Each script touches the keys of one slot and can be repeated without harm.
// Only scriptFollow reads a second record, and is used on a single server alone.
var (
	scriptUserCreate   = script("user_create")
	scriptUserConfirm  = script("user_confirm")
	scriptUserDiscard  = script("user_discard")
	scriptUserUpdate   = script("user_update")
	scriptUserIntend   = script("user_intend")
	scriptUserMove     = script("user_move")
	scriptUserAbandon  = script("user_abandon")
	scriptUserDelete   = script("user_delete")
	scriptClaimReplace = script("claim_replace")
	scriptOwnRegister  = script("own_register")
	scriptOwnForget    = script("own_forget")
	scriptChildCreate  = script("child_create")
	scriptChildUpdate  = script("child_update")
	scriptChildDelete  = script("child_delete")
	scriptFollow       = script("follow")
	scriptTokenCreate  = script("token_create")
	scriptTokenUse     = script("token_use")
	scriptExpire       = script("expire")

	scripts = []*goredis.Script{
		scriptUserCreate, scriptUserConfirm, scriptUserDiscard, scriptUserUpdate, scriptUserIntend, scriptUserMove,
		scriptUserAbandon, scriptUserDelete, scriptClaimReplace, scriptOwnRegister, scriptOwnForget, scriptChildCreate, scriptChildUpdate,
		scriptChildDelete, scriptFollow, scriptTokenCreate, scriptTokenUse, scriptExpire,
	}
)
