/* Prints the length of the answer to GET / of a host on port 80; built with musl: its resolver, with AI_ADDRCONFIG. */
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG }, *found;
    char text[4096];
    size_t total = 0;
    ssize_t n;
    int fd, rc = argc < 2 ? EAI_NONAME : getaddrinfo(argv[1], "80", &hints, &found);

    if (rc) {
        printf("%s\n", gai_strerror(rc));
        return 1;
    }
    fd = socket(found->ai_family, SOCK_STREAM, 0);
    if (connect(fd, found->ai_addr, found->ai_addrlen)) {
        perror("connect");
        return 1;
    }
    n = snprintf(text, sizeof(text), "GET /file HTTP/1.0\r\nHost: %s\r\n\r\n", argv[1]);
    if (write(fd, text, (size_t)n) != n)
        return 1;
    while ((n = read(fd, text, sizeof(text))) > 0)
        total += (size_t)n;
    printf("%s\n", total > 100000 ? "whole" : "short");
    return 0;
}
