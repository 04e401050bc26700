ARG BASE=python:3.11-slim-bookworm
FROM ${BASE}

# LITE=1 leaves torch out. TORCH_INDEX_URL names an index that has CPU builds of torch.
ARG LITE=0
ARG TORCH_INDEX_URL=

# One thread a process: a server with many sessions gains nothing from more.
ENV PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    OMP_NUM_THREADS=1 \
    STREAMLIT_BROWSER_GATHER_USAGE_STATS=false \
    HOME=/tmp \
    PATH=/opt/posviz/bin:$PATH

WORKDIR /app

# The requirements come before the code, so that a change of code installs nothing again.
COPY requirements-lite.txt requirements.txt ./
RUN python3 -m venv /opt/posviz \
    && if [ "$LITE" = 1 ]; then file=requirements-lite.txt; else file=requirements.txt; fi \
    && pip install -r "$file" ${TORCH_INDEX_URL:+--extra-index-url "$TORCH_INDEX_URL"}

COPY pyproject.toml README.md LICENSE app.py ./
COPY .streamlit .streamlit
COPY pages pages
COPY posviz posviz
RUN pip install --no-deps --no-build-isolation . \
    && rm -rf build posviz.egg-info posviz \
    && python -m compileall -q /opt/posviz/lib/python3*/site-packages/posviz

RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin posviz
USER 10001

EXPOSE 8501

# The body counts: every other path answers 200 too.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 CMD ["python", "-c", "import urllib.request as r; raise SystemExit(r.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4).read().strip() != b'ok')"]

CMD ["python", "-m", "streamlit", "run", "app.py", "--server.address=0.0.0.0", "--server.port=8501"]
