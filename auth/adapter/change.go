package adapter

import "time"

// Change says whether an update sets a field, and to what. The zero Change
// leaves the field as it is; To(v) sets it to v. Where v is a pointer, nil
// clears the field: To[*string](nil).
type Change[T any] struct {
	value T
	set   bool
}

// To returns a change that sets a field to v.
func To[T any](v T) Change[T] { return Change[T]{value: v, set: true} }

// Get returns the new value, and whether the field is to be set at all.
func (c Change[T]) Get() (T, bool) { return c.value, c.set }

// IsSet reports whether the field is to be set.
func (c Change[T]) IsSet() bool { return c.set }

// Apply sets *field if the change is set.
func (c Change[T]) Apply(field *T) {
	if c.set {
		*field = c.value
	}
}

// UserUpdate changes the fields of the user with the given ID that are set. An
// address and its proof belong together: an update to another address that does
// not set EmailVerified clears it. [USER-17]
//
// CLAUSES.md explains the [clauses] of the fields.
//
// [USER-17]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/user.md#user-17
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type UserUpdate struct {
	ID string
	// IfEmail, unless it is empty, is the address that the user must have. A user
	// with another address is to this update as an absent one. [USER-30]
	IfEmail       string
	Name          Change[*string]
	Email         Change[string]
	EmailVerified Change[*time.Time]
	Image         Change[*string]
}

// Apply sets the changed fields of u, and clears EmailVerified if the address
// becomes another one, compared byte for byte. The caller has compared IfEmail. It
// does not copy what pointers refer to.
func (c UserUpdate) Apply(u *User) {
	c.Name.Apply(&u.Name)
	if c.Email.set && c.Email.value != u.Email {
		u.Email, u.EmailVerified = c.Email.value, nil
	}
	c.EmailVerified.Apply(&u.EmailVerified)
	c.Image.Apply(&u.Image)
}

// SessionUpdate changes the fields of the session with the given token that
// are set.
type SessionUpdate struct {
	SessionToken string
	UserID       Change[string]
	Expires      Change[time.Time]
}

// Apply sets the changed fields of s.
func (c SessionUpdate) Apply(s *Session) {
	c.UserID.Apply(&s.UserID)
	c.Expires.Apply(&s.Expires)
}
