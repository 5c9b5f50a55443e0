# antennaopt on the CPU: docker build -t antennaopt . && docker run --rm -v "$PWD:/work" antennaopt run lens.toml
FROM python:3.13-slim

# Everything is set up as on a host: versions are those of constraints.txt.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends make \
    && rm -rf /var/lib/apt/lists/*
COPY . /opt/antennaopt
RUN cd /opt/antennaopt && make install

# Results and caches belong to the user that runs the container, not to root: docker run --user "$(id -u)" works.
ENV PATH=/opt/antennaopt/.venv/bin:$PATH \
    XDG_CACHE_HOME=/tmp/cache
WORKDIR /work
ENTRYPOINT ["antennaopt"]
CMD ["--help"]
