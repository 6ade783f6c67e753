//! The style sheet: reads on a phone, prints, and needs no colour to tell the sides apart.

/// All of it. Its hash stands in the page's content policy, so no other style can apply.
pub(super) const SHEET: &str = "\
:root{--ink:#1c2024;--dim:#5a646e;--line:#d5dae0;--soft:#f4f6f8;--a:#1f2933;--b:#0a5fb4;--warn:#8a3b00}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;max-width:70rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:#fff}
h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line);padding-bottom:.25rem}
h3{font-size:1rem;margin:1rem 0 .25rem}
p{margin:.5rem 0}
.dim{color:var(--dim)}
.warn{color:var(--warn);border-left:4px solid var(--warn);padding:.25rem .75rem;margin:.5rem 0}
.say{font-size:1.05rem}
.say li{margin:.35rem 0}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;width:100%}
th,td{padding:.3rem .5rem;text-align:right;border-bottom:1px solid var(--line);vertical-align:top;white-space:nowrap}
th{white-space:normal;min-width:4rem;vertical-align:bottom}
th{font-weight:600;background:var(--soft)}
th:first-child,td:first-child,td.t,th.t{text-align:left}
td.w{white-space:normal;min-width:8rem}
td.t.w{min-width:9.5rem}
tr.now td{font-weight:700;background:#fff8e1}
dl{display:grid;grid-template-columns:minmax(8rem,max-content) 1fr;gap:.15rem 1rem;font-size:.9rem;margin:.5rem 0}
dt{color:var(--dim)}
dd{margin:0;overflow-wrap:anywhere}
code,.hash{font-family:ui-monospace,monospace;font-size:.85em;overflow-wrap:anywhere}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:1rem}
.card{border:1px solid var(--line);border-radius:6px;padding:.6rem;break-inside:avoid;overflow-wrap:anywhere;font-size:.9rem}
.card h3{margin:.4rem 0 .2rem}
.card p{margin:.15rem 0}
.card svg.crop{height:13rem;background:var(--soft)}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));gap:0 1.5rem}
.none{display:flex;align-items:center;justify-content:center;min-height:6rem;background:var(--soft);color:var(--dim);padding:.5rem;text-align:center}
svg{display:block;width:100%;height:auto}
svg.curve{max-width:42rem}
svg text{font:11px system-ui,sans-serif;fill:var(--dim)}
.grid{stroke:var(--line);fill:none}
.line{fill:none;stroke-width:2}
.line.a{stroke:var(--a)}
.line.b{stroke:var(--b);stroke-dasharray:7 4}
.band{stroke:none;opacity:.13}
.band.a{fill:var(--a)}
.band.b{fill:var(--b)}
.point{stroke:var(--warn);stroke-width:1.5;stroke-dasharray:2 3;fill:none}
.bar.slots{fill:#b8c2cc}
.bar.real{fill:var(--b)}
.halo,.edge{fill:none;vector-effect:non-scaling-stroke}
.halo{stroke:#fff;stroke-width:4}
.edge{stroke-width:2}
.edge.a{stroke:#000}
.edge.b{stroke:#1173d4;stroke-dasharray:7 4}
.edge.low{stroke-width:1.5;stroke-dasharray:2 4}
.key{display:inline-block;width:2.2em;height:0;border-top:3px solid var(--a);vertical-align:middle;margin-right:.35em}
.key.b{border-top-style:dashed;border-color:var(--b)}
.decision{border:2px solid var(--ink);border-radius:6px;padding:.5rem .9rem;margin:1rem 0;break-inside:avoid}
.decision.old{border-color:var(--line);color:var(--dim)}
.decision strong{text-transform:uppercase;letter-spacing:.05em}
@media (max-width:40rem){
svg.curve text{font-size:18px}
.say,.decision ul{padding-left:1.1rem}
.pair{display:block}
dl{grid-template-columns:minmax(5rem,max-content) 1fr}
.wide thead{display:none}
.wide table,.wide tbody,.wide tr,.wide td{display:block;width:auto}
.wide tr{border:1px solid var(--line);border-radius:6px;margin:.6rem 0;padding:.35rem .6rem}
.wide tr.now{border:2px solid var(--ink)}
.wide td,.wide td.t,.wide td:first-child{display:flex;justify-content:space-between;gap:1rem;padding:.1rem 0;border:0;text-align:right;white-space:normal;background:none}
.wide td::before{content:attr(data-column);color:var(--dim);font-weight:400;text-align:left}
}
@media print{.decision{break-inside:auto;box-decoration-break:clone;-webkit-box-decoration-break:clone}body{max-width:none;padding:0;font-size:10pt}.wide{overflow:visible}table{font-size:8.5pt}th,td{padding:.15rem .3rem;white-space:normal}th{min-width:0}td.w,td.t.w{min-width:0}.cards{grid-template-columns:repeat(3,1fr)}.card svg.crop{height:9rem}.bar,.band,tr.now td,th{print-color-adjust:exact;-webkit-print-color-adjust:exact}h2,h3{break-after:avoid}tr,svg,.card{break-inside:avoid}a{color:inherit}}
@page{margin:15mm}
";
