-- The passwords of users, apart from the tables of Auth.js. Both texts are compared byte for byte.

CREATE TABLE `passwords` (
	seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
	userId VARCHAR(255) NOT NULL,
	hash VARCHAR(2000) NOT NULL,
	state MEDIUMTEXT NOT NULL,
	UNIQUE KEY `passwords_userId_key` (userId),
	CONSTRAINT `passwords_userId_fkey` FOREIGN KEY (userId) REFERENCES `user` (id) ON DELETE CASCADE
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin;

INSERT INTO `gatehouse_schema` (single, version) VALUES (1, 2) ON DUPLICATE KEY UPDATE version = GREATEST(version, 2);
