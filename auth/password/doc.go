// Package password hashes and checks passwords, and signs in with them: see
// [Provider].
//
// A [Hasher] makes argon2id hashes, and checks those and hashes that other
// products made. Its checks take the same work for each user, known or not. Rules
// say which new passwords are accepted (NIST SP 800-63B-4 section 3.1.1).
package password
