"""Makes the small pictures beside it and what Pillow makes of them.

Run with Pillow 12.2.0 and numpy:  python make.py
decoded.tsv   file, width, height, sha256 of Image.open(file).convert("RGB"), or "refused"
upright.tsv   the same after ImageOps.exif_transpose
resized.tsv   width, height, to width, to height, kernel, sha256; the input is `pattern`
"""
import hashlib
import io
import struct
import warnings
import zlib

import PIL
from PIL import Image, ImageOps

assert PIL.__version__ == "12.2.0", PIL.__version__
warnings.simplefilter("ignore")


def pattern(width, height, channels=3):
    """The same formula stands in src/media/resample.rs."""
    return bytes(
        (x * x * 3 + y * (5 + 2 * c) + (x * y >> 2) + 60 * c * (x % 7 == 0)) & 255
        for y in range(height)
        for x in range(width)
        for c in range(channels)
    )


files = {}


def save(name, image, format, **how):
    out = io.BytesIO()
    image.save(out, format, **how)
    files[name] = out.getvalue()


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width, height, depth, kind, rows, extra=b"", interlaced=0):
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


rgb = Image.frombytes("RGB", (19, 13), pattern(19, 13))
rgba = Image.frombytes("RGBA", (19, 13), pattern(19, 13, 4))
grey = Image.frombytes("L", (19, 13), pattern(19, 13, 1))
both = Image.merge("LA", (grey, grey.rotate(180)))
inks = Image.frombytes("CMYK", (19, 13), pattern(19, 13, 4))
indexed = rgb.quantize(9)

# JPEG: every chroma sampling Pillow writes, both orders of coding, one and four channels.
for sampling in (0, 1, 2):
    save(f"sampling{sampling}.jpg", rgb, "JPEG", quality=80, subsampling=sampling)
save("progressive.jpg", rgb, "JPEG", quality=60, progressive=True)
save("restarts.jpg", rgb, "JPEG", quality=60, restart_marker_blocks=1)
save("grey.jpg", grey, "JPEG", quality=70)
save("rgb_kept.jpg", rgb, "JPEG", quality=80, keep_rgb=True)
save("inks.jpg", inks, "JPEG", quality=80)
adobe = files["inks.jpg"].index(b"\xff\xee\x00\x0eAdobe")
files["inks_unmarked.jpg"] = files["inks.jpg"][:adobe] + files["inks.jpg"][adobe + 16 :]
files["inks_ycck.jpg"] = files["inks.jpg"][: adobe + 15] + b"\x02" + files["inks.jpg"][adobe + 16 :]
# An arrow, so that a wrong turn shows.
arrow = Image.new("RGB", (40, 20), (250, 250, 250))
for x in range(4, 36):
    for y in range(20):
        if abs(y - 10) < 2 or (x >= 24 and abs(y - 10) <= 35 - x):
            arrow.putpixel((x, y), (200, 20, 20))
for value in range(1, 9):
    exif = Image.Exif()
    exif[0x0112] = value
    exif[0x010F] = "Maker"
    save(f"orient_{value}.jpg", arrow, "JPEG", quality=90, subsampling=0, exif=exif)
exif = Image.Exif()
exif[0x0112] = 6
for name, format, how in (("png", "PNG", {}), ("webp", "WEBP", {"lossless": True}), ("tif", "TIFF", {})):
    save(f"orient_6.{name}", rgb, format, exif=exif, **how)

# PNG: depths, palettes, transparency, interlace, animation.
for name, image in dict(rgb=rgb, rgba=rgba, grey=grey, grey_alpha=both, one_bit=grey.convert("1"), indexed=indexed).items():
    save(f"{name}.png", image, "PNG")
save("indexed_transparent.png", indexed, "PNG", transparency=bytes([0, 255, 128, 7]))
save("grey_transparent.png", grey, "PNG", transparency=77)
ramp = b"".join(b"\0" + b"".join(struct.pack(">H", 13 * x + 40 * y) for x in range(19)) for y in range(13))
files["grey16.png"] = png(19, 13, 16, 0, ramp)
wide = b"".join(b"\0" + b"".join(struct.pack(">H", (x * 3001 + y * 777) & 65535) for x in range(57)) for y in range(13))
files["rgb16.png"] = png(19, 13, 16, 2, wide)
passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
rows = b"".join(
    b"\0" + b"".join(bytes(rgb.getpixel((x, y))) for x in range(x0, 19, dx))
    for x0, y0, dx, dy in passes
    for y in range(y0, 13, dy)
)
files["interlaced.png"] = png(19, 13, 8, 2, rows, interlaced=1)
colors = [Image.new("RGB", (12, 8), color) for color in ("red", "lime", "blue")]
for name, format in (("png", "PNG"), ("gif", "GIF"), ("webp", "WEBP")):
    save(f"animated.{name}", colors[0], format, save_all=True, append_images=colors[1:])

# GIF: transparency, and a frame that leaves part of its canvas free or sticks out of it.
save("indexed.gif", indexed, "GIF")
save("transparent.gif", indexed, "GIF", transparency=3)
whole = files["indexed.gif"]
files["small_canvas.gif"] = whole[:6] + struct.pack("<HH", 9, 9) + whole[10:]
files["large_canvas.gif"] = whole[:6] + struct.pack("<HH", 23, 17) + whole[10:]

# WebP, BMP, TIFF.
save("lossy.webp", rgb, "WEBP", quality=70)
save("lossy_alpha.webp", rgba, "WEBP", quality=70)
save("lossless_alpha.webp", rgba, "WEBP", lossless=True, exact=True)
for name, image in dict(rgb=rgb, rgba=rgba, indexed=indexed).items():
    save(f"{name}.bmp", image, "BMP")
save("rgb.tif", rgb, "TIFF", compression="tiff_lzw")
save("grey16.tif", Image.frombytes("I;16", (19, 13), pattern(38, 13, 1)), "TIFF")

# Damaged or not a picture.
whole = files["sampling2.jpg"]
files["cut_at_60_percent.jpg"] = whole[: len(whole) * 6 // 10]
files["cut_by_2_bytes.jpg"] = whole[:-2]
files["trailing_rubbish.jpg"] = whole + b"rubbish" * 9
files["second_picture.jpg"] = whole + files["grey.jpg"]
inner = files["grey.jpg"]
files["cut_with_thumbnail.jpg"] = whole[:2] + b"\xff\xe1" + struct.pack(">H", len(inner) + 2) + inner + whole[2:-2]
for name in ("rgb.png", "progressive.jpg", "indexed.gif", "lossy.webp", "rgb.bmp", "rgb.tif"):
    stem, ending = name.split(".")
    files[f"cut_{stem}.{ending}"] = files[name][: len(files[name]) * 6 // 10]
files["two_bytes.jpg"] = b"\xff\xd8"
files["page.png"] = b"<!DOCTYPE html>\n<html><body>404</body></html>\n"
files["webp_called.jpg"] = files["lossy.webp"]


def line(name, bytes, upright):
    try:
        image = Image.open(io.BytesIO(bytes))
        if upright:
            image = ImageOps.exif_transpose(image)
        image = image.convert("RGB")
    except Exception:
        return f"{name}\trefused\n"
    return f"{name}\t{image.width}\t{image.height}\t{hashlib.sha256(image.tobytes()).hexdigest()}\n"


for name, bytes_ in files.items():
    with open(name, "wb") as out:
        out.write(bytes_)
with open("decoded.tsv", "w") as out:
    out.writelines(line(name, data, False) for name, data in sorted(files.items()))
with open("upright.tsv", "w") as out:
    out.writelines(line(name, data, True) for name, data in sorted(files.items()) if "orient" in name)

shapes = [
    (64, 48, 32, 32), (48, 64, 32, 32), (200, 120, 64, 64), (120, 200, 64, 64), (31, 17, 64, 64), (1, 1, 7, 5),
    (1, 50, 9, 3), (50, 1, 3, 9), (3, 2, 90, 40), (90, 40, 3, 2), (64, 64, 64, 20), (64, 64, 20, 64), (33, 33, 33, 33),
    (500, 3, 2, 60), (3, 300, 60, 2), (2, 201, 40, 200), (2, 201, 40, 202), (2, 200, 40, 20), (1, 400, 1, 3), (17, 9, 1, 1),
]
kernels = {"lanczos3": Image.LANCZOS, "bilinear": Image.BILINEAR}
with open("resized.tsv", "w") as out:
    for width, height, to_width, to_height in shapes:
        source = Image.frombytes("RGB", (width, height), pattern(width, height))
        for name, kernel in kernels.items():
            digest = hashlib.sha256(source.resize((to_width, to_height), kernel).tobytes()).hexdigest()
            out.write(f"{width}\t{height}\t{to_width}\t{to_height}\t{name}\t{digest}\n")
