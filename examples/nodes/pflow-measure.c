// The node `measure`. cc -O2 -o pflow-measure pflow-measure.c makes it; pflow-measure.interface belongs beside it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_space(char sign) { return sign == ' ' || (sign >= '\t' && sign <= '\r'); }

int main(int argc, char **argv) {
    const char *node = getenv("PFLOW_NODE");
    char *call[argc + 2], *line = NULL, sign, last = ' ';
    memcpy(call + 1, argv, (argc + 1) * sizeof *argv);
    if (!node || strcmp(node, "measure")) return execvp(call[0] = "pflow", call), perror("pflow"), 127;
    size_t room = 0, lines = 0, words = 0, characters = 0;
    ssize_t size;
    do if ((size = getline(&line, &room, stdin)) < 0) return fputs("there is no text\n", stderr), 65;
    while (strncmp(line, "\"text\":\"", 8));  // the store has one member a line
    for (char *at = line + 8; at < line + size && (sign = *at) != '"'; at++, last = sign) {
        if ((sign & 0xc0) == 0x80) continue;  // a later byte of a character
        if (sign == '\\' && *++at == 'u') {
            long code = strtol((char[5]){at[1], at[2], at[3], at[4]}, NULL, 16);
            at += 4, sign = code < 128 ? code : 'u';
            if (code >= 0xdc00 && code < 0xe000) continue;  // the second half of a pair
        } else if (sign == '\\') sign = *at == 'n' ? '\n' : strchr("rtf", *at) ? ' ' : 'x';
        characters++, lines += sign == '\n', words += !is_space(sign) && is_space(last);
    }
    printf("{\"$pflow\":{\"v\":1},\"words\":%zu,\"lines\":%zu,\"characters\":%zu}\n", words, lines, characters);
}
