document.getElementById("why").textContent = decodeURIComponent(location.hash.slice(1));
