"""A proxy on 127.0.0.1, of HTTP or SOCKS5, which notes where it is asked to go and takes everybody to one server."""

import socket
import threading


class Proxy:
    def __init__(self, port, *, is_socks=False):
        self.port, self.is_socks, self.asked = port, is_socks, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self):
        self.serving = threading.Thread(target=self._serve, daemon=True)
        self.serving.start()
        return self

    def __exit__(self, *error):
        self.listener.shutdown(socket.SHUT_RDWR)  # before its number may be another socket's
        self.serving.join()
        self.listener.close()

    def _serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._take, args=(client,), daemon=True).start()

    def _take(self, client):
        with client, socket.create_connection(("127.0.0.1", self.port)) as server:
            if self.is_socks:
                client.recv(100)
                client.sendall(b"\5\0")
                asked = client.recv(300)
                self.asked.append(asked[5:-2].decode() if asked[3] == 3 else socket.inet_ntoa(asked[4:8]))
                client.sendall(b"\5\0\0\1\0\0\0\0\0\0")
            else:
                self.asked.append(client.recv(1 << 16, socket.MSG_PEEK).split()[1].decode())
            back = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
            back.start()
            _pass_on(client, server)
            back.join()


def _pass_on(source, target):
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:  # one of the two has gone
        return
