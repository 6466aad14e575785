# An image of Barnabas: docker build -t barnabas . && docker run -p 9092:9092 barnabas
# docs/deployment.md says more; a test runs these steps in a folder of its own.

FROM python:3.13-slim-bookworm AS build
# 1 fails where nothing can be compiled; 0 leaves the sources as they are.
ARG BARNABAS_COMPILE=1
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN python -m venv /opt/barnabas && /opt/barnabas/bin/pip install --no-cache-dir .

FROM python:3.13-slim-bookworm
RUN groupadd --gid 9092 barnabas \
    && useradd --uid 9092 --gid 9092 --no-create-home --home-dir /var/lib/barnabas barnabas \
    && install -d -o 9092 -g 9092 /var/lib/barnabas
COPY --from=build /opt/barnabas /opt/barnabas
COPY docs/deployment/server.properties /etc/barnabas/server.properties
ENV PATH=/opt/barnabas/bin:$PATH PYTHONUNBUFFERED=1
USER 9092:9092
VOLUME /var/lib/barnabas
EXPOSE 9092 29092 9464
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9464/readyz')"]
ENTRYPOINT ["barnabas"]
CMD ["start", "--config", "/etc/barnabas/server.properties"]
